// Loaded before each test file: makes `node:test` find the test that some code runs in without a hook on every promise.
// Node follows each promise and each handle of the process from its making to its collection for that. A test's gateway
// runs in the same process, so it took a seventh of the processor time of tests over HTTP. An AsyncLocalStorage says the
// same, and costs next to nothing. `node:test` takes both functions from `node:async_hooks` when it is first loaded.
import asyncHooks, { AsyncLocalStorage } from 'node:async_hooks';
import { isMainThread } from 'node:worker_threads';

const { AsyncResource, createHook, executionAsyncId } = asyncHooks;
const current = new AsyncLocalStorage();
/** A module that is imported is evaluated outside of what imported it: the suite of such a file in a group. */
const isFile = /\.test\.ts$/;
let imported;
let tests = null;
/** References to the tests, suites and hooks that this process began; `finished` says whether one ended. */
export const begun = new Set();

/** `node:test` makes one hook, which notes each test under its id, and all that begins in it. */
function createTestHook(hook) {
  tests = hook;
  return { enable() {}, disable() {} };
}

/** Tests and suites are resources, and their functions run in their scope. */
class TestResource extends AsyncResource {
  constructor(type, options) {
    super(type, options);
    tests?.init(this.asyncId(), type, currentId(), this);
    begun.add(new WeakRef(this));
  }

  runInAsyncScope(run, self, ...args) {
    if (isFile.test(this.name)) imported = this.asyncId();
    return super.runInAsyncScope(() => current.run(this.asyncId(), () => run.apply(self, args)));
  }
}

function currentId() {
  return current.getStore() ?? imported ?? executionAsyncId();
}

// Threads, and processes that a test starts, have no tests of their own.
if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.(ts|mjs)$/.test(process.argv[1] ?? '')) {
  Object.assign(asyncHooks, { AsyncResource: TestResource, createHook: createTestHook, executionAsyncId: currentId });
  await import('node:test');
  Object.assign(asyncHooks, { AsyncResource, createHook, executionAsyncId });
}
