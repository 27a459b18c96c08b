import type { Failure } from '../../kernel/failure.ts';

/** `what`: the request or the answer. `why`: a sentence's part; absent: nobody should know. */
export function blocked(name: string, what: string, why?: string): Failure {
  const because = why === undefined ? '' : `: ${why}`;
  const message = `The guard '${name}' does not let ${what} pass${because}. The operator of this server has set it up.`;
  return { kind: 'guard-blocked', guard: name, message };
}

export type Unreadable =
  | 'a request of this kind'
  | 'a part of this request'
  | 'a part of the answer'
  | 'the answer of this request'
  | 'pages of a crawl or a batch';

/** `what` the guard cannot read. */
export function cannotRead(name: string, what: Unreadable): Failure {
  if (what === 'pages of a crawl or a batch') {
    const message = `The guard '${name}' cannot read ${what}. Scrape each page alone, or ask the operator to set on_error: allow for this guard.`;
    return { kind: 'guard-blocked', guard: name, message };
  }
  const ofAnswer = what === 'the answer of this request' ? ', because it is not text' : '';
  const such =
    what === 'a request of this kind' || ofAnswer !== ''
      ? ofAnswer
      : ', such as a picture, a sound, a file, tokens, bytes in base64 or a response that a provider keeps';
  const cure = what === 'a part of the answer' || ofAnswer !== '' ? 'Ask' : 'Leave it out, or ask';
  const message = `The guard '${name}' cannot read ${what}${such}. ${cure} the operator to set ${ofAnswer === '' ? '' : 'on: [input] or '}on_error: allow for this guard.`;
  return { kind: 'guard-blocked', guard: name, message };
}

/** The service that decides gave no answer. */
export function unanswered(name: string): Failure {
  const message = `The service that the guard '${name}' asks gave no answer, and nothing passes without one. Try again later.`;
  return { kind: 'guard-unanswered', guard: name, message };
}

/** The texts need more questions to the service than a guard asks. */
export function tooLong(name: string, on: 'input' | 'output'): Failure {
  const [what, cure] = on === 'input' ? ['a request', 'Shorten it'] : ['an answer', 'Ask for a shorter one'];
  const message = `The guard '${name}' cannot read ${what} of so much text. ${cure}, or ask the operator to set on_error: allow for this guard.`;
  return { kind: 'guard-blocked', guard: name, message };
}
