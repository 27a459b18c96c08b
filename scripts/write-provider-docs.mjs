// Writes docs/providers.md from the catalog. Run with the repository's Node: `node_modules/.bin/node scripts/write-provider-docs.mjs`.
import { writeFileSync } from 'node:fs';
import { providersReference } from './docs/provider-reference.ts';

writeFileSync(new URL('../docs/providers.md', import.meta.url), providersReference());
