import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { Callers } from '../../api/caller.ts';
import { useSession } from '../../api/session.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Input, TextArea } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { bytes, span } from '../../parts/format.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
import { jsonProblem } from '../../parts/forms/typed.ts';
import { useObjectUrl } from '../../parts/object-url.ts';
import { Section } from '../../parts/page.tsx';
import { NoKey } from '../../parts/speaks-as.tsx';
import { Badge } from '../../parts/status.tsx';
import { StopButton } from '../../parts/stop-button.tsx';
import { examples } from './examples.ts';
import { exampleOf } from './fields-of.ts';
import { FormFields, type FormValues, formDataOf, missingIn } from './form-fields.tsx';
import { bodyOf, changesSomething, type Document, type Operation, type Parameter } from './open-api.ts';
import { sendTrial, type TrialAnswer } from './send-trial.ts';

interface TryItProps {
  document: Document;
  operation: Operation;
  callers: Callers;
}

/** Sends the operation for real: as the chosen key, or as the operator. A call that changes something asks first. */
export function TryIt({ document, operation, callers: { caller, error } }: TryItProps) {
  const { id, method, parameters = [], security = [] } = operation;
  const session = useSession();
  const client = useQueryClient();
  const body = bodyOf(operation);
  const isForm = body?.type === 'multipart/form-data';
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [form, setForm] = useState<FormValues>({});
  const [asking, setAsking] = useState(false);
  const [text, setText] = useState(() =>
    body === null || !body.type.includes('json')
      ? ''
      : JSON.stringify(examples[id] ?? exampleOf(document, body.schema), null, 2),
  );
  const fault = body?.type.includes('json') === true ? jsonProblem(text) : null;
  const byKey = security.some((one) => 'apiKey' in one);
  const missing = [
    ...parameters.filter(({ name, required }) => required === true && !values[name]),
    ...(isForm ? missingIn(body.schema, form) : []),
  ];
  const path = pathOf(operation, values);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const send = useMutation({
    mutationFn() {
      abort.current = new AbortController();
      return sendTrial(path, {
        signal: abort.current.signal,
        method,
        headers: {
          ...headersOf(parameters, values),
          ...(byKey ? caller?.headers : { 'x-culvert-csrf': session.csrf }),
          // That of a form has a boundary, which the browser makes.
          ...(body !== null && !isForm && text !== '' && { 'content-type': body.type }),
        },
        body: isForm ? formDataOf(form) : body === null || text === '' ? null : text,
      });
    },
    onSuccess: ({ status }) => {
      // The data of other pages may have changed.
      if (method !== 'GET' && status < 400) void client.invalidateQueries();
    },
  });
  if (byKey && error !== null) return <ErrorNote error={error} />;
  if (byKey && caller === null) return <NoKey />;
  return (
    <Section title="Try it">
      <Form
        error={send.error}
        onSubmit={() => (changesSomething(operation) ? setAsking(true) : send.mutate())}
        footer={
          <>
            {send.isPending && <StopButton onStop={() => abort.current?.abort()} />}
            <Button
              type="submit"
              look="main"
              icon={<Send className="size-3.5" aria-hidden />}
              busy={send.isPending}
              disabled={fault !== null || missing.length > 0 || (byKey && caller === undefined)}
            >
              Send
            </Button>
          </>
        }
      >
        {parameters.length > 0 && (
          <div className="grid gap-3 sm:grid-cols-2">
            {parameters.map(({ name, required }) => (
              <Field key={name} name={name} label={required === true ? name : `${name} (optional)`}>
                <Input
                  spellCheck={false}
                  autoComplete="off"
                  value={values[name] ?? ''}
                  onChange={(event) => setValues({ ...values, [name]: event.target.value })}
                />
              </Field>
            ))}
          </div>
        )}
        {isForm && <FormFields schema={body.schema} values={form} onChange={setForm} />}
        {body !== null && !isForm && (
          <Field name="request body" label="Body" hint={body.type} fault={fault}>
            <TextArea
              rows={5}
              spellCheck={false}
              className="w-full field-sizing-content max-h-96 min-h-20 font-mono"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          </Field>
        )}
      </Form>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        title="Send this call?"
        action={`Send ${method}`}
        onConfirm={() => send.mutateAsync()}
      >
        <p className="font-mono text-xs [overflow-wrap:anywhere]">
          {method} {path}
        </p>
        <p className="mt-2">
          Culvert runs it {byKey ? `as the key ${caller?.key.name} of ${caller?.key.account}` : 'as yourself'}. You
          cannot undo what it changes or deletes.
        </p>
      </Confirm>
      {send.data !== undefined && <Answer answer={send.data} />}
    </Section>
  );
}

function Answer({ answer: { status, ms, type, body } }: { answer: TrialAnswer }) {
  return (
    <section className="mt-4 flex flex-col gap-2" aria-label="Response of the call">
      <p className="flex flex-wrap items-center gap-2 text-muted text-xs">
        <Badge tone={status < 400 ? 'ok' : 'bad'}>{status}</Badge> {span(ms)} · {type || 'no content'}
        {body.kind === 'bytes' && !body.cut && ` · ${bytes(body.blob.size)}`}
        {body.cut && (body.kind === 'text' ? ' · only its beginning is shown' : ' · too large to show')}
      </p>
      {body.kind === 'bytes' && !body.cut && <Save blob={body.blob} />}
      {body.kind === 'text' && body.text !== '' && <Code text={body.text} label="Response" wrap />}
    </section>
  );
}

function Save({ blob }: { blob: Blob }) {
  const url = useObjectUrl(blob);
  return url === null ? null : (
    <div>
      <a href={url} download={`answer.${blob.type.replace(/.*\/|;.*/g, '') || 'bin'}`} className={buttonClass()}>
        Download
      </a>
    </div>
  );
}

/** Headers among the parameters that have a value. */
function headersOf(parameters: readonly Parameter[], values: Readonly<Record<string, string>>): Record<string, string> {
  const filled = parameters.flatMap(({ name, in: place }) => {
    const value = values[name]?.trim();
    return place === 'header' && value ? [[name, value]] : [];
  });
  return Object.fromEntries(filled);
}

function pathOf({ path, parameters = [] }: Operation, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) if (place === 'query' && values[name]) query.set(name, values[name]);
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  return query.size === 0 ? filled : `${filled}?${query}`;
}
