// Writes docs/dialects.md from the matrix that a test asks. Run with the repository's Node: `node_modules/.bin/node scripts/write-dialects-docs.mjs`.
import { writeFileSync } from 'node:fs';
import { dialectsReference } from '../test/contract/dialect-matrix/reference.ts';

writeFileSync(new URL('../docs/dialects.md', import.meta.url), dialectsReference());
