import type { ReactNode } from 'react';
import { whyNot } from '../../api/rights.ts';
import { useSession } from '../../api/session.ts';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import type { FieldProblem } from '../../parts/forms/typed.ts';
import type { Settings } from './conversation.ts';
import { formatOf, formats } from './formats/formats.ts';
import { StoredPrompt } from './stored-prompt.tsx';

interface SettingsPanelProps {
  format: string;
  onFormat: (id: string) => void;
  settings: Settings;
  onSettings: (settings: Settings) => void;
  /** Fault of the typed text, when it could not be sent. */
  fault: FieldProblem | null;
}

export const exampleTools = `[
  {
    "name": "get_weather",
    "description": "The weather in a city right now.",
    "parameters": {
      "type": "object",
      "properties": { "city": { "type": "string" } },
      "required": ["city"]
    }
  }
]`;

/** Settings of every turn of a conversation. */
export function SettingsPanel({ format, onFormat, settings, onSettings, fault }: SettingsPanelProps) {
  const field = textFields(settings, (changes) => onSettings({ ...settings, ...changes }));
  const messageAt = (name: string) => (fault?.field === name ? fault.message : null);
  const mayPrompts = whyNot(useSession(), 'models', 'read') === null;
  const numeric = { inputMode: 'decimal', placeholder: 'default' } as const;
  return (
    <div className="flex flex-col gap-4">
      <Field name="system" label="System prompt">
        <TextArea
          rows={3}
          placeholder="Instructions for the model"
          className="w-full field-sizing-content max-h-60 min-h-20"
          {...field('system')}
        />
      </Field>
      {mayPrompts && <StoredPrompt more={settings.more} onMore={(more) => onSettings({ ...settings, more })} />}
      <div className="grid grid-cols-2 gap-3">
        <Field name="temperature" label="Temperature" fault={messageAt('temperature')}>
          <Input {...numeric} {...field('temperature')} />
        </Field>
        <Field name="max_tokens" label="Max tokens" fault={messageAt('max_tokens')}>
          <Input {...numeric} {...field('maxTokens')} />
        </Field>
        <Field name="reasoning" label="Reasoning">
          <Select {...field('reasoning')}>
            <option value="">default</option>
            <option value="low">low</option>
            <option value="medium">medium</option>
            <option value="high">high</option>
          </Select>
        </Field>
        <Field name="top_p" label="Top p" fault={messageAt('top_p')}>
          <Input {...numeric} {...field('topP')} />
        </Field>
      </div>
      <Field name="format" label="Format" hint={formatOf(format).path}>
        <Select value={format} onChange={(event) => onFormat(event.target.value)}>
          {formats.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </Select>
      </Field>
      <More title="Tools" open={settings.tools !== '' || fault?.field === 'tools'}>
        <Field
          name="tools"
          label="Tools, as JSON"
          fault={messageAt('tools')}
          hint="When the model calls a tool, you enter the result."
        >
          <TextArea
            rows={4}
            spellCheck={false}
            className="w-full field-sizing-content max-h-80 font-mono text-xs"
            {...field('tools')}
          />
        </Field>
        {settings.tools === '' && (
          <button
            type="button"
            className="self-start text-accent text-sm underline underline-offset-2"
            onClick={() => onSettings({ ...settings, tools: exampleTools })}
          >
            Insert an example
          </button>
        )}
      </More>
      <More
        title="Stop sequences and other fields"
        open={settings.stop !== '' || settings.more !== '' || fault?.field === 'more'}
      >
        <Field name="stop" label="Stop sequences" hint="One per line.">
          <TextArea rows={2} {...field('stop')} />
        </Field>
        <Field
          name="more"
          label="Other fields, as JSON"
          fault={messageAt('more')}
          hint='They are added to the request body, for example {"seed": 7}.'
        >
          <TextArea
            rows={2}
            spellCheck={false}
            className="w-full field-sizing-content max-h-60 font-mono text-xs"
            {...field('more')}
          />
        </Field>
      </More>
    </div>
  );
}

function More({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  return (
    <details open={open || undefined} className="border-line border-t pt-3">
      <summary className="font-medium text-sm">{title}</summary>
      <div className="mt-3 flex flex-col gap-3">{children}</div>
    </details>
  );
}
