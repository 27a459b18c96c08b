import { yieldToMainThread } from '../../kernel/priority.ts';
import { threadPort } from '../../kernel/thread-port.ts';
import { damageOf } from './integrity.ts';

const port = threadPort();

yieldToMainThread();

port.on('message', ({ id, file }: { id: number; file: string }) =>
  port.postMessage({ id, result: damageOf(file, 'quick') }),
);
