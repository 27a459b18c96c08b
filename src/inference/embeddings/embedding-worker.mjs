// Entry of the worker thread for large embeddings: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies embedding-worker.ts in the repository and embedding-worker.js in the published package.
await import(new URL(`./embedding-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
