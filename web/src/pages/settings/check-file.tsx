import { useMutation } from '@tanstack/react-query';
import { CircleCheck } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { TextArea } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Field, Form } from '../../parts/forms/form.tsx';
import { type Problem, Problems } from './problems.tsx';

interface Checked {
  ok: boolean;
  errors: Problem[];
  warnings: Problem[];
}

/** A culvert.yaml that is pasted or chosen is checked as a start would; nothing changes. */
export function CheckFile() {
  const [text, setText] = useState('');
  const may = useMay('settings', 'write');
  const check = useMutation({
    mutationFn: (yaml: string) =>
      call<Checked>('POST', '/admin/v1/config/check', { body: yaml, headers: { 'content-type': 'application/yaml' } }),
  });
  return (
    <Form
      error={check.error}
      onSubmit={() => check.mutate(text)}
      footer={
        <>
          <label className="inline-flex h-8 cursor-pointer items-center rounded-md border border-line-strong bg-panel px-3 font-medium text-sm focus-within:outline-2 focus-within:outline-accent hover:bg-hover">
            Choose a file
            <input
              type="file"
              accept=".yaml,.yml"
              className="sr-only"
              onChange={({ target: { files } }) => void files?.[0]?.text().then(setText)}
            />
          </label>
          <Button type="submit" look="main" busy={check.isPending} disabled={text === '' || !may}>
            Check
          </Button>
        </>
      }
    >
      <Field name="config" label="culvert.yaml" hint="Culvert checks it as it does when it starts. Nothing changes.">
        <TextArea
          rows={16}
          spellCheck={false}
          className="w-full font-mono text-xs"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </Field>
      {check.data !== undefined && (
        <div className="flex flex-col gap-2">
          {check.data.ok ? (
            <Note tone="ok" icon={<CircleCheck />}>
              The file is valid
              {check.data.warnings.length > 0 && `, with ${plural(check.data.warnings.length, 'warning')}`}.
            </Note>
          ) : (
            <Note tone="bad">{plural(check.data.errors.length, 'error')}. Culvert would not start with this file.</Note>
          )}
          <Problems problems={check.data.errors} tone="bad" />
          <Problems problems={check.data.warnings} tone="warn" />
        </div>
      )}
    </Form>
  );
}
