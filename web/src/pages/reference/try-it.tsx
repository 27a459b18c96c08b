import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { useState } from 'react';
import type { Callers } from '../../api/caller.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Input, TextArea } from '../../parts/controls.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { span } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { NoKey } from '../../parts/speaks-as.tsx';
import { Badge } from '../../parts/status.tsx';
import { faultInJson } from '../../parts/typed.ts';
import { examples } from './examples.ts';
import { exampleOf } from './fields-of.ts';
import { bodyOf, type Document, type Operation } from './open-api.ts';
import { sendTrial, type TrialAnswer } from './send-trial.ts';

interface TryItProps {
  document: Document;
  operation: Operation;
  callers: Callers;
}

/** Sends the operation for real: as the key that one speaks as, or as the operator. */
export function TryIt({ document, operation, callers: { caller, error } }: TryItProps) {
  const { id, method, parameters = [], security = [] } = operation;
  const session = useSession();
  const client = useQueryClient();
  const body = bodyOf(operation);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState(() =>
    body === null || !body.type.includes('json')
      ? ''
      : JSON.stringify(examples[id] ?? exampleOf(document, body.schema), null, 2),
  );
  const fault = body?.type.includes('json') === true ? faultInJson(text) : null;
  const byKey = security.some((one) => 'apiKey' in one);
  const missing = parameters.filter(({ name, required }) => required === true && !values[name]);
  const send = useMutation({
    mutationFn: () =>
      sendTrial(pathOf(operation, values), {
        method,
        headers: {
          ...(byKey ? caller?.headers : { 'x-culvert-csrf': session.csrf }),
          ...(body !== null && text !== '' && { 'content-type': body.type }),
        },
        body: body === null || text === '' ? null : text,
      }),
    onSuccess: ({ status }) => {
      // What other pages show may have changed.
      if (method !== 'GET' && status < 400) void client.invalidateQueries();
    },
  });
  if (byKey && error !== null) return <ErrorNote error={error} />;
  if (byKey && caller === null) return <NoKey />;
  return (
    <Section title="Try it">
      <Form
        error={send.error}
        onSubmit={() => send.mutate()}
        footer={
          <Button
            type="submit"
            look="main"
            icon={<Send className="size-3.5" aria-hidden />}
            busy={send.isPending}
            disabled={fault !== null || missing.length > 0 || (byKey && caller === undefined)}
          >
            Send
          </Button>
        }
      >
        {parameters.length > 0 && (
          <div className="grid gap-3 sm:grid-cols-2">
            {parameters.map(({ name, required }) => (
              <Field key={name} name={name} label={required === true ? name : `${name} (optional)`}>
                {(control) => (
                  <Input
                    {...control}
                    spellCheck={false}
                    autoComplete="off"
                    value={values[name] ?? ''}
                    onChange={(event) => setValues({ ...values, [name]: event.target.value })}
                  />
                )}
              </Field>
            ))}
          </div>
        )}
        {body !== null && (
          <Field name="request body" label="Body" hint={body.type} fault={fault}>
            {(control) => (
              <TextArea
                {...control}
                rows={5}
                spellCheck={false}
                className="w-full field-sizing-content max-h-96 min-h-20 font-mono"
                value={text}
                onChange={(event) => setText(event.target.value)}
              />
            )}
          </Field>
        )}
      </Form>
      {send.data !== undefined && <Answer answer={send.data} />}
    </Section>
  );
}

function Answer({ answer: { status, ms, type, text, cut } }: { answer: TrialAnswer }) {
  return (
    <section className="mt-4 flex flex-col gap-2" aria-label="Answer of the call">
      <p className="flex flex-wrap items-center gap-2 text-muted text-xs">
        <Badge tone={status < 400 ? 'ok' : 'bad'}>{status}</Badge> {span(ms)} · {type || 'no content'}
        {cut && ' · only its beginning is shown'}
      </p>
      {text !== '' && <Code text={text} label="Answer" wrap />}
    </section>
  );
}

function pathOf({ path, parameters = [] }: Operation, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) if (place === 'query' && values[name]) query.set(name, values[name]);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  return query.size === 0 ? filled : `${filled}?${query}`;
}
