import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { AddableInput } from './prompted.ts';
import type { ReadableInput } from './readable-input.ts';

/** How requests are read, and changed before they are read again. `C`: their call; `I`: the received form. */
export interface Reading<C, I, V> {
  /** Checks the received form; the failure is the caller's. */
  read(call: C, input: I): V | Failure | Promise<V | Failure>;
  /** Its texts, as steps see and change them; absent: nobody reads them. */
  readable?(call: C, input: I): ReadableInput<I> | null;
  /** Place where prompts and variants add to it, before it is read; absent: nothing is added to it. */
  addable?(call: C, input: I): AddableInput<I>;
}

/** Reads a changed input, as if its caller had sent it so, in place of `value`, which is released. */
export async function readAgain<C, I, V extends { release(): void | Promise<void> }>(
  endpoint: Pick<Reading<C, I, V>, 'read'>,
  call: C,
  input: I,
  value: V,
): Promise<{ call: C; input: I; value: V } | Failure> {
  const again = await endpoint.read(call, input);
  if (isFailure(again)) return again;
  await value.release();
  return { call, input, value: again };
}
