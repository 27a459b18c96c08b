import { useNavigate } from '@tanstack/react-router';
import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Field, Form } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { keep } from '../../parts/stored/use-stored.ts';
import { noSettings } from '../playground/conversation.ts';
import { typedValue } from './prompt-draft.ts';
import { Texts } from './version-view.tsx';
import { filled, textsOf, type Version, variablesOf } from './versions.ts';

/** Fills a version with values: its messages then, the request that sends them, and a way into the playground. */
export function TryIt({ name, version }: { name: string; version: Version }) {
  const navigate = useNavigate();
  const mayCall = useMay('calls', 'write');
  const [typed, setTyped] = useState<Record<string, string>>({});
  const variables = Object.entries(variablesOf(version));
  const given = variables.filter(([variable]) => (typed[variable] ?? '') !== '');
  const values = Object.fromEntries(
    given.map(([variable, { type }]) => [variable, typedValue(type, typed[variable] ?? '')]),
  );
  const shown = Object.fromEntries(
    variables.flatMap(([variable, { default: usual }]) => {
      const value = values[variable] ?? usual;
      return value === undefined ? [] : [[variable, String(value)]];
    }),
  );
  const missing = variables.map(([variable]) => variable).filter((variable) => shown[variable] === undefined);
  const prompt = { id: name, version: String(version.number), variables: values };
  const play = () => {
    keep('playground.settings', { ...noSettings, more: JSON.stringify({ prompt }, null, 2) }, 'browser');
    void navigate({ to: '/dashboard/playground', search: { model: version.model ?? undefined } as never });
  };
  return (
    <Section
      title="Try it"
      actions={
        mayCall && (
          <Button
            icon={<FlaskConical className="size-4" />}
            disabled={missing.length > 0}
            title={missing.length > 0 ? `It needs a value of ${missing.join(', ')}.` : undefined}
            onClick={play}
          >
            Open in the playground
          </Button>
        )
      }
    >
      <Form error={null} onSubmit={() => {}}>
        {variables.length > 0 && (
          <div className="grid gap-3 sm:grid-cols-2">
            {variables.map(([variable, { type, default: usual }]) => {
              const value = typed[variable] ?? '';
              const set = (text: string) => setTyped((before) => ({ ...before, [variable]: text }));
              return (
                <Field
                  key={variable}
                  name={variable}
                  label={variable}
                  hint={usual === undefined ? 'Required' : undefined}
                >
                  {type === 'boolean' ? (
                    <Select value={value} onChange={({ target }) => set(target.value)}>
                      <option value="">{usual === undefined ? 'Choose…' : `${usual} by default`}</option>
                      <option>true</option>
                      <option>false</option>
                    </Select>
                  ) : (
                    <Input
                      inputMode={type === 'number' ? 'decimal' : undefined}
                      placeholder={usual === undefined ? '' : String(usual)}
                      value={value}
                      onChange={({ target }) => set(target.value)}
                    />
                  )}
                </Field>
              );
            })}
          </div>
        )}
        <Texts
          label="Messages with these values"
          messages={textsOf(version).map(({ role, content }) => ({ role, content: filled(content, shown) }))}
        />
        <div className="flex flex-col gap-1">
          <p className="text-muted text-xs">In a request, before its own messages:</p>
          <Code
            label="Request"
            text={JSON.stringify({ model: `prompt/${name}@${version.number}`, prompt: { variables: values } }, null, 2)}
          />
        </div>
      </Form>
    </Section>
  );
}
