// Entry of the worker thread for large pictures: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies image-worker.ts in the repository and image-worker.js in the published package.
await import(new URL(`./image-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
