import { fork } from 'node:child_process';

/** The message of a program beside this file, in a process that does nothing else. Throws when it ends without one. */
export function countedBy<Counted>(program: `./${string}.ts`): Promise<Counted> {
  const { promise, resolve, reject } = Promise.withResolvers<Counted>();
  const child = fork(new URL(program, import.meta.url));
  child.once('message', (counted) => resolve(counted as Counted));
  child.once('exit', (code) => reject(new Error(`${program} ended with ${code} before it had counted`)));
  return promise;
}
