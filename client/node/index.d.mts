export * from './generated/webnn.mjs';
