import { workerData } from 'node:worker_threads';
import { FailureError } from '../../kernel/failure.ts';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import { openSqlitePageStore } from './page-store.ts';
import type { PageCall, PageEnd, PageFile } from './page-thread.ts';

yieldToMainThread();
const { file, bounds } = workerData as PageFile;
const store = openSqlitePageStore(file, bounds);

threadPort().on('message', (call: PageCall) => {
  const { id } = call;
  const reply = (result: PageEnd) => threadPort().postMessage({ id, result });
  done(call).then(
    (answer) => reply({ ok: true, answer }),
    (error: unknown) => {
      if (error instanceof FailureError) reply({ ok: false, failure: error.failure });
      else threadPort().postMessage({ id, error: String(error) });
    },
  );
});

function done(call: PageCall): Promise<unknown> {
  switch (call.method) {
    case 'keep':
      return store.keep(...call.args);
    case 'find':
      return store.find(...call.args);
    case 'search':
      return store.search(...call.args);
    case 'holdsPages':
      return store.holdsPages(...call.args);
    case 'prune':
      return store.prune(...call.args);
    case 'close':
      return store.close();
  }
}
