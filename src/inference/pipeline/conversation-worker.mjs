// Entry of the worker thread for large bodies: a worker has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies conversation-worker.ts in the repository and conversation-worker.js in the published package.
await import(
  new URL(`./conversation-worker.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href
);
