// Entry of the threads that read pages: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies extract-worker.ts in the repository and extract-worker.js in the published package.
await import(new URL(`./extract-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
