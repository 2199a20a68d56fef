export * from './generated/webnn.js';
