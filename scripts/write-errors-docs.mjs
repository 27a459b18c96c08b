// Writes docs/errors.md from the table of errors. Run with the repository's Node: `node_modules/.bin/node scripts/write-errors-docs.mjs`.
import { writeFileSync } from 'node:fs';
import { errorsReference } from './docs/error-reference.ts';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsReference());
