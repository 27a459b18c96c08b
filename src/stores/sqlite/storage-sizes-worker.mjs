// Entry of the thread that measures what accounts keep: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
const ending = import.meta.url.includes('/dist/') ? 'js' : 'ts';
// Beside us lies storage-sizes-worker.ts in the repository and storage-sizes-worker.js in the published package.
await import(new URL(`./storage-sizes-worker.${ending}`, import.meta.url).href);
