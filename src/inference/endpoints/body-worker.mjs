// Entry of the worker thread for large bodies: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies body-worker.ts in the repository and body-worker.js in the published package.
await import(new URL(`./body-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
