// Entry of the worker thread of crawls: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies crawl-worker.ts in the repository and crawl-worker.js in the published package.
await import(new URL(`./crawl-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
