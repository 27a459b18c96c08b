// Entry of the processes that hold an engine: each has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

enableCompileCache();
// Beside us lies engine-host.ts in the repository and engine-host.js in the published package.
await import(new URL(`./engine-host.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
