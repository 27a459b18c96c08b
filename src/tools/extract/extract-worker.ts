import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/threads/thread-port.ts';
import type { ExtractOrder, ExtractReply } from './extract-order.ts';
import { extractPage } from './extract-page.ts';

/** Callers wait for their page: with 10 more, the threads of another program on the machine leave it next to nothing. */
const pageNiceness = 3;

yieldToMainThread(pageNiceness);

const reply = (message: ExtractReply | { ready: true }) => threadPort().postMessage(message);

threadPort().on('message', (order: ExtractOrder) => {
  extractPage(order).then(reply, (error: unknown) => {
    reply({ id: order.id, error: error instanceof Error ? error.message : String(error) });
  });
});
// Its time counts from here: loading takes a while on a busy machine.
reply({ ready: true });
