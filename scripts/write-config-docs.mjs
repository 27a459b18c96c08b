// Writes docs/configuration.md and culvert.schema.json from src/config; with --check it only says whether they are current.
import { readFileSync, writeFileSync } from 'node:fs';
import { configJsonSchema } from '../src/config/json-schema.ts';
import { configReference } from './docs/config-reference.ts';

const files = [
  ['docs/configuration.md', configReference()],
  ['docs/culvert.schema.json', `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
];

for (const [name, content] of files) {
  const url = new URL(`../${name}`, import.meta.url);
  if (!process.argv.includes('--check')) {
    writeFileSync(url, content);
  } else if (readFileSync(url, 'utf8') !== content) {
    console.error(`${name} is not current: run node scripts/write-config-docs.mjs`);
    process.exitCode = 1;
  }
}
