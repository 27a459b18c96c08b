// Entry of the thread that drives the browser: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies render-worker.ts in the repository and render-worker.js in the published package.
await import(new URL(`./render-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
