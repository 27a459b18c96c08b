// Entry of the thread that looks through databases: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies integrity-worker.ts in the repository and integrity-worker.js in the published package.
await import(new URL(`./integrity-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
