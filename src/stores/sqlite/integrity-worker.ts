import { parentPort } from 'node:worker_threads';
import { yieldToMainThread } from '../../kernel/priority.ts';
import { damageOf } from './integrity.ts';

yieldToMainThread();

parentPort!.on('message', ({ id, file }: { id: number; file: string }) =>
  parentPort!.postMessage({ id, result: damageOf(file, 'quick') }),
);
