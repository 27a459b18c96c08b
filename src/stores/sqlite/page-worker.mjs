// Entry of the thread of `pages.db`: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies page-worker.ts in the repository and page-worker.js in the published package.
await import(new URL(`./page-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
