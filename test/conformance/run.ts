// npm run conformance -- FOLDER [--only=PATTERN] [--causes=N] [--json[=FILE]]
// Plays recorded exchanges of any project (VCR cassettes, HAR, fixture files) behind a gateway, and says what is lost.

import { statSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { conform } from './conform.ts';
import { report } from './report.ts';

const usage = 'npm run conformance -- FOLDER [--only=PATTERN] [--causes=N] [--json | --out=FILE]';
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string' },
    causes: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});
const [folder] = positionals;
if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
  console.error(folder === undefined ? usage : `No such folder: ${folder}\n${usage}`);
  process.exit(2);
}
const result = await conform({
  folder,
  ...(values.only !== undefined && { only: new RegExp(values.only, 'i') }),
  onProgress: (done) => {
    if (done % 100 === 0 && process.stderr.isTTY) process.stderr.write(`\r${done}`);
  },
});
if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(result, null, 1));
console.log(values.json ? JSON.stringify(result) : report(result, Number(values.causes)));
