// Entry of the worker thread that counts tokens: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies token-count-worker.ts in the repository and token-count-worker.js in the published package.
await import(new URL(`./token-count-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
