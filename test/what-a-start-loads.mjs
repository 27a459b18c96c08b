// Run by test/start-path.test.ts instead of bin/culvert.mjs, which may take the bundle; reports the loaded modules to
// its parent when the first server listens.
import { registerHooks } from 'node:module';
import { Server } from 'node:net';

const modules = [];
registerHooks({
  load(url, context, next) {
    modules.push(url);
    return next(url, context);
  },
});
const { listen } = Server.prototype;
Server.prototype.listen = function (...to) {
  this.once('listening', () => process.send?.({ modules, builtins: process.moduleLoadList }));
  return listen.apply(this, to);
};

const { main } = await import('../src/main.ts');
await main(process.argv.slice(2), { program: '', flushCompileCache() {} });
