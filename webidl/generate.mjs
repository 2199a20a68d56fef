// Makes every file that follows from the interface definition (README.md).
//   node webidl/generate.mjs           writes them
//   node webidl/generate.mjs --check   exits 1, naming each file that is stale, missing or extra

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  clientMethodDeclarations, clientMethodDefinitions, clientOptions,
} from './generator/client.mjs';
import { wrapCode } from './generator/cpp.mjs';
import { grammarHeader } from './generator/fuzz.mjs';
import { effectiveIdl } from './generator/idl.mjs';
import { nodeDeclarations, nodeInterfaces } from './generator/node.mjs';
import { readModel } from './generator/reader.mjs';
import { signaturesHeader, signaturesSource } from './generator/signatures.mjs';
import { enumNamesHeader, typesHeader, typesSource } from './generator/types.mjs';
import { codecHeader, codecSource, operatorsSchema } from './generator/wire.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const FOLDERS = ['webidl/generated', 'ipc/generated', 'client/generated', 'client/node/generated',
                 'fuzz/generated'];

function text(path) {
  return readFileSync(join(here, path), 'utf8');
}

function loadModel() {
  const version = JSON.parse(text('node_modules/@webref/idl/package.json')).version;
  const locked = JSON.parse(text('package.json')).dependencies['@webref/idl'];
  if (version !== locked) {
    throw new Error(`@webref/idl is ${version}, not ${locked}: run npm ci in webidl/`);
  }
  return readModel({
    texts: [text('node_modules/@webref/idl/webnn.idl'), text('extensions.idl')],
    overrides: JSON.parse(text('overrides.json')),
    source: `@webref/idl ${version}`,
  });
}

const README_LINES = {
  'webidl/generated': 'The effective interface definition (`webnn.idl`), types and signatures. ' +
                      'Everyone may use them; start with `types.h`.',
  'ipc/generated': 'The schema of operators on the wire, and its encoder and decoder. ' +
                   'For the codecs of `ipc` alone; start with `operators.capnp`.',
  'client/generated': 'The options and methods of the graph builder. Included by ' +
                      '`client/graph_builder.h`; start with `options.h`.',
  'client/node/generated': 'The interfaces in JavaScript (`interfaces.mjs`, made of the functions of ' +
                           '`../webidl.mjs`) and their TypeScript declarations.',
  'fuzz/generated': 'What the attributes of each operator may be, for fuzzers that make graphs.',
};

function readme(folder) {
  return `# ${folder}\nMade by \`node webidl/generate.mjs\`; do not edit (see \`webidl/README.md\`).` +
         `\n\n${README_LINES[folder]}\n`;
}

const isCode = (path) => /\.(h|cc|inc|idl)$/.test(path);

function render(model) {
  const outputs = [
    ...FOLDERS.map((folder) => [`${folder}/README.md`, readme(folder)]),
    ['webidl/generated/webnn.idl', effectiveIdl(model)],
    ['webidl/generated/types.h', typesHeader(model)],
    ['webidl/generated/types.cc', typesSource(model)],
    ['webidl/generated/enum_names.h', enumNamesHeader(model)],
    ['webidl/generated/signatures.h', signaturesHeader(model)],
    ['webidl/generated/signatures.cc', signaturesSource(model)],
    ['ipc/generated/operators.capnp', operatorsSchema(model)],
    ['ipc/generated/operator_codec.h', codecHeader(model)],
    ['ipc/generated/operator_codec.cc', codecSource(model)],
    ['client/generated/options.h', clientOptions(model)],
    ['client/generated/graph_builder_methods.inc', clientMethodDeclarations(model)],
    ['client/generated/graph_builder_methods.cc', clientMethodDefinitions(model)],
    ['client/node/generated/interfaces.mjs', nodeInterfaces(model)],
    ['client/node/generated/webnn.d.mts', nodeDeclarations(model)],
    ['fuzz/generated/grammar.h', grammarHeader(model)],
  ];
  return new Map(outputs.map(
    ([path, content]) => [path, isCode(path) ? wrapCode(content) : content]));
}

function extraFiles(outputs) {
  return FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !outputs.has(path));
}

function check(outputs) {
  const complaints = extraFiles(outputs).map((path) => `extra: ${path}`);
  for (const [path, content] of outputs) {
    if (!existsSync(join(root, path))) complaints.push(`missing: ${path}`);
    else if (readFileSync(join(root, path), 'utf8') !== content) complaints.push(`stale: ${path}`);
  }
  return complaints;
}

function write(outputs) {
  for (const [path, content] of outputs) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    const old = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : null;
    // An unchanged file keeps its time, so that nothing is rebuilt for it.
    if (old !== content) writeFileSync(join(root, path), content);
  }
}

function main(options) {
  if (options.some((option) => option !== '--check') || options.length > 1) {
    console.error('usage: node webidl/generate.mjs [--check]');
    return 2;
  }
  const model = loadModel();
  const outputs = render(model);
  const summary = `${model.operators.length} operators, ${model.enums.length} enums, ` +
                  `${model.dictionaries.size} dictionaries, ` +
                  `${model.interfaces.length} interfaces, ${outputs.size} files`;
  if (options.length === 0) {
    write(outputs);
    console.log(`wrote ${summary}`);
    return 0;
  }
  const complaints = check(outputs);
  for (const complaint of complaints) console.log(complaint);
  console.log(complaints.length ? 'run: node webidl/generate.mjs' : `fresh: ${summary}`);
  return complaints.length ? 1 : 0;
}

process.exitCode = main(process.argv.slice(2));
