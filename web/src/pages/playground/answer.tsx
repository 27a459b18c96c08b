import { ChevronRight, RotateCw, Wrench } from 'lucide-react';
import { memo, type ReactNode, useState } from 'react';
import { Button, IconButton } from '../../parts/button.tsx';
import { Code, Copy } from '../../parts/code.tsx';
import { TextArea } from '../../parts/controls.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import type { AssistantTurn, Ending, ToolCall } from './conversation.ts';
import { FactsLine } from './facts-line.tsx';

interface AnswerProps {
  turn: AssistantTurn;
  /** Null for one that is not the last. */
  onAgain: (() => void) | null;
  onTool: (place: number, result: string) => void;
}

/** A model's answer: its reasoning apart, its text, its tool calls, its end and its cost. */
export const Answer = memo(function Answer({ turn, onAgain, onTool }: AnswerProps) {
  const { text, reasoning, calls, ending, facts } = turn;
  const waiting = ending === null && text === '' && reasoning === '' && calls.length === 0;
  return (
    <article aria-label="Answer" aria-busy={ending === null} className="flex min-w-0 flex-col gap-2.5">
      {reasoning !== '' && <Reasoning text={reasoning} open={ending === null && text === ''} />}
      {waiting && (
        <p role="status" aria-label="Waiting for the answer" className="flex h-5 items-center gap-1">
          <span className="size-1.5 animate-pulse rounded-full bg-accent" />
        </p>
      )}
      {text !== '' && <Markdown text={text} />}
      {calls.map((call) => (
        <Call key={call.place} call={call} open={ending !== null} onResult={(result) => onTool(call.place, result)} />
      ))}
      {ending !== null && <EndingNote ending={ending} begun={text !== '' || calls.length > 0} onAgain={onAgain} />}
      {ending !== null && (
        <FactsLine facts={facts}>
          {text !== '' && <Copy text={text} label="Copy the answer" size="row" />}
          {onAgain !== null && (
            <IconButton label="Regenerate" size="row" onClick={onAgain}>
              <RotateCw />
            </IconButton>
          )}
        </FactsLine>
      )}
    </article>
  );
});

function Reasoning({ text, open }: { text: string; open: boolean }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const shown = chosen ?? open;
  return (
    <div className="rounded-md border border-line border-dashed text-muted">
      <button
        type="button"
        aria-expanded={shown}
        onClick={() => setChosen(!shown)}
        className="flex h-8 w-full items-center gap-1.5 px-2.5 text-left text-xs hover:text-ink"
      >
        <ChevronRight className={`size-3.5 ${shown ? 'rotate-90' : ''}`} aria-hidden />
        {open ? 'Reasoning…' : 'Reasoning'}
      </button>
      {shown && <p className="whitespace-pre-wrap px-3 pb-2.5 text-sm [overflow-wrap:anywhere]">{text}</p>}
    </div>
  );
}

function Call({ call, open, onResult }: { call: ToolCall; open: boolean; onResult: (result: string) => void }) {
  const [text, setText] = useState('');
  return (
    <div className="rounded-md border border-line bg-panel">
      <p className="flex h-9 items-center gap-2 border-line border-b px-3 text-sm">
        <Wrench className="size-3.5 text-muted" aria-hidden />
        <span className="text-muted">Calls</span>
        <code className="min-w-0 truncate font-mono text-xs">{call.name}</code>
      </p>
      <div className="flex flex-col gap-2 p-3">
        <Code text={pretty(call.argumentsJson)} label="Arguments" wrap />
        {call.result !== null && <Code text={call.result} label="Result" wrap />}
        {call.result === null && open && (
          <form
            className="flex flex-col gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              onResult(text);
            }}
          >
            <TextArea
              aria-label={`Result of ${call.name}`}
              rows={2}
              placeholder="The result of the tool"
              className="w-full font-mono text-xs"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <Button type="submit" className="self-end">
              Send the result
            </Button>
          </form>
        )}
      </div>
    </div>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

interface EndingNoteProps {
  ending: Ending;
  begun: boolean;
  onAgain: (() => void) | null;
}

function EndingNote({ ending, begun, onAgain }: EndingNoteProps): ReactNode {
  switch (ending.kind) {
    case 'complete':
      if (ending.finish === 'length' || ending.finish === 'max_tokens' || ending.finish === 'max_output_tokens') {
        return <Note tone="plain">The answer reached its token limit.</Note>;
      }
      if (ending.finish === 'content_filter' || ending.finish === 'refusal') {
        return <Note tone="plain">The provider stopped the answer because of its content.</Note>;
      }
      return null;
    case 'stopped':
      return <p className="text-muted text-xs">{begun ? 'Stopped. The answer so far is kept.' : 'Stopped.'}</p>;
    case 'cut':
      return (
        <Note tone="warn">
          The stream broke off. {begun ? 'The answer so far is kept.' : 'There was no answer yet.'}{' '}
          {onAgain !== null && (
            <button type="button" onClick={onAgain} className="font-medium underline underline-offset-2">
              Regenerate
            </button>
          )}
        </Note>
      );
    case 'failed':
      return (
        <ErrorNote
          error={new Error(begun ? `${ending.message} The answer so far is kept.` : ending.message)}
          {...(onAgain !== null && { retry: onAgain })}
        />
      );
  }
}
