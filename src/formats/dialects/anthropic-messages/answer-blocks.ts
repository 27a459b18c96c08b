import type { NeutralEvent } from '../../neutral/event.ts';
import type { Usage } from '../../neutral/usage.ts';
import type { BlockSink } from './block-sink.ts';
import { BlockWriter } from './block-writer.ts';
import type { AnswerOptions } from './read-request.ts';
import { vendor } from './wire.ts';

/** Events that wait for the call before them to be complete; those of one call together, whatever order they came in. */
interface Waiting {
  call: number | null;
  events: NeutralEvent[];
}

/** Interleaved calls are rare and short; beyond this the call before them is taken to be complete. */
const waitingEventsMax = 10_000;

/**
 * Puts the events of an answer in Anthropic's order: `thoughts` says what of its reasoning is shown. Only the first
 * choice has a place in this format. `owner`: the format of the blocks, whose own proofs go on as they are.
 */
export function createAnswerBlocks(
  thoughts: AnswerOptions['thoughts'],
  sink: BlockSink,
  owner: string = vendor,
): (event: NeutralEvent) => void {
  const blocks = new BlockWriter(thoughts, sink, owner);
  const waiting: Waiting[] = [];
  let waitingEvents = 0;
  let finished: Extract<NeutralEvent, { type: 'finish' }> | null = null;
  let usage: Usage | null = null;
  let over = false;

  function wait(event: NeutralEvent): void {
    const call = event.type === 'tool-call-start' || event.type === 'tool-call-delta' ? event.call : null;
    const group = call === null ? waiting.at(-1) : waiting.find((one) => one.call === call);
    if (group !== undefined && group.call === call) group.events.push(event);
    else waiting.push({ call, events: [event] });
    waitingEvents++;
    if (waitingEvents > waitingEventsMax) release('all');
  }

  function release(how: 'what is due' | 'all'): void {
    while (how === 'all' || !blocks.callGoesOn()) {
      const due = waiting.shift();
      if (due === undefined) break;
      for (const event of due.events) blocks.write(event);
    }
    if (waiting.length === 0) waitingEvents = 0;
  }

  function end(): void {
    over = true;
    release('all');
    blocks.end(finished?.reason ?? 'stop', finished?.stopSequence ?? null, usage, finished?.filters ?? {});
  }

  return (event) => {
    if (over || ('choice' in event && event.choice !== 0)) return;
    switch (event.type) {
      case 'start':
        return blocks.start(event.id, event.model);
      case 'usage':
        usage = event.usage;
        return;
      case 'finish':
        finished ??= event;
        return;
      case 'end':
        return end();
      case 'failed':
        over = true;
        return;
      case 'tool-call-delta':
        if (blocks.isAt(event.call)) {
          blocks.write(event);
          if (waiting.length > 0) release('what is due');
          return;
        }
        return waiting.length > 0 ? wait(event) : blocks.write(event);
      default:
        return waiting.length > 0 || blocks.callGoesOn() ? wait(event) : blocks.write(event);
    }
  };
}
