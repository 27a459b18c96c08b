// Entry of the ledger's worker thread: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies housekeeping.ts in the repository and housekeeping.js in the published package.
await import(new URL(`./housekeeping.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
