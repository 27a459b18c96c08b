// Entry of the worker threads of the vector store: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies vector-worker.ts in the repository and vector-worker.js in the published package.
await import(new URL(`./vector-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
