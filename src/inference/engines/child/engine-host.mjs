// Entry of the processes that hold an engine: each has a compile cache of its own to enable.
import { enableCompileCache } from 'node:module';

// The gateway died: nobody is left to work for. Told of first, so that it holds while everything else loads.
process.on('disconnect', () => process.exit());
enableCompileCache();
// Beside us lies engine-host.ts in the repository and engine-host.js in the published package.
await import(new URL(`./engine-host.${import.meta.url.includes('/dist/') ? 'js' : 'ts'}`, import.meta.url).href);
