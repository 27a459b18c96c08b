import { Code2, Play } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { ApiError } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { plural } from '../../parts/format.ts';
import { Form } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { StopButton } from '../../parts/stop-button.tsx';
import { commandKey } from '../../shell/shortcuts.tsx';
import { CodeDialog } from './code-dialog.tsx';
import { FactsLine } from './facts-line.tsx';
import type { ShownCall } from './snippets.ts';
import { type CallState, useStopKey } from './use-call.ts';

interface TrialProps {
  caller: Caller;
  call: CallState<unknown>;
  /** Text of the button. */
  action: string;
  disabled: boolean;
  onRun: () => void;
  /** The call for a program; without it there is no button for that. */
  shown?: () => ShownCall;
  /** Fields. */
  children: ReactNode;
  /** The result; null before. */
  result: ReactNode;
  /** Shown in place of a result. */
  hint: ReactNode;
}

/** A form at the left, its result at the right. */
export function Trial({ caller, call, action, disabled, onRun, shown, children, result, hint }: TrialProps) {
  const [code, setCode] = useState(false);
  const { running, stop, error, facts } = call;
  useStopKey(running, stop);
  return (
    <div className="grid min-w-0 items-start gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <Section>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the button below. */}
        <div
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || running || disabled) return;
            event.preventDefault();
            onRun();
          }}
        >
          <Form
            error={error}
            onSubmit={onRun}
            footer={
              <>
                {shown !== undefined && (
                  <Button look="quiet" icon={<Code2 className="size-4" aria-hidden />} onClick={() => setCode(true)}>
                    View code
                  </Button>
                )}
                <span className="flex-1" />
                {running ? (
                  <StopButton onStop={stop} title="Esc" />
                ) : (
                  <Button
                    type="submit"
                    look="main"
                    icon={<Play className="size-3.5" aria-hidden />}
                    disabled={disabled}
                    title={`${commandKey} + Enter`}
                  >
                    {action}
                  </Button>
                )}
              </>
            }
          >
            {children}
          </Form>
        </div>
      </Section>
      <div className="flex min-w-0 flex-col gap-3" aria-busy={running}>
        {result === null ? (
          <div className="rounded-lg border border-line border-dashed px-6 py-16 text-center text-muted text-sm">
            {running ? 'Waiting for the answer…' : hint}
          </div>
        ) : (
          <div className={running ? 'opacity-60' : ''}>{result}</div>
        )}
        {facts !== null && !(error instanceof ApiError) && (
          <FactsLine
            facts={{
              startedMs: 0,
              firstMs: null,
              ms: facts.ms,
              inputTokens: facts.record?.usage.input_tokens || null,
              outputTokens: facts.record?.usage.output_tokens || null,
              requestId: facts.requestId,
              provider: facts.provider,
              costUsd: facts.record?.cost_usd ?? null,
              dropped: facts.dropped,
            }}
          >
            {facts.units !== null && plural(facts.units, 'unit')}
          </FactsLine>
        )}
      </div>
      {shown !== undefined && <CodeDialog open={code} onClose={() => setCode(false)} caller={caller} call={shown} />}
    </div>
  );
}
