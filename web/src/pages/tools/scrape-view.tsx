import type { Caller } from '../../api/caller.ts';
import { FieldGroup, Input, Select } from '../../parts/controls.tsx';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { useStored } from '../../parts/stored/use-stored.ts';
import { Trial } from '../playground/trial.tsx';
import { useCall } from '../playground/use-call.ts';
import { PageContent } from './page-content.tsx';
import type { ScrapeAnswer } from './tool-answers.ts';

const formats = [
  ['markdown', 'Markdown'],
  ['text', 'Text'],
  ['html', 'HTML'],
  ['rawHtml', 'Raw HTML'],
  ['links', 'Links'],
  ['images', 'Images'],
  ['summary', 'Summary'],
  ['screenshot', 'Screenshot'],
] as const;

/** One page, read. */
export function ScrapeView({ caller }: { caller: Caller }) {
  const [form, field] = useStoredFields('tools.scrape', { url: '', render: 'auto', content: 'main' });
  const [chosenFormats, setFormats] = useStored<string[]>('tools.scrape.formats', ['markdown', 'links']);
  const call = useCall<ScrapeAnswer>(caller, (response) => response.json());
  const { url, render, content } = form;
  const body = { url: url.trim(), formats: chosenFormats, render, onlyMainContent: content === 'main' };
  const toggle = (format: string) =>
    setFormats((before) => (before.includes(format) ? before.filter((one) => one !== format) : [...before, format]));
  const { answer } = call;
  return (
    <Trial
      caller={caller}
      call={call}
      action="Scrape"
      disabled={url.trim() === '' || chosenFormats.length === 0}
      onRun={() => call.run('/v1/tools/scrape', () => body)}
      hint="The page appears here."
      result={
        answer === null ? null : (
          <Section title={answer.data.metadata.title ?? answer.data.metadata.url ?? 'Page'}>
            <PageContent page={answer.data} warning={answer.warning} />
          </Section>
        )
      }
    >
      <Field name="url" label="URL">
        <Input data-search inputMode="url" placeholder="https://" {...field('url')} />
      </Field>
      <Field name="formats" label="Formats" hint="A model writes the summary. A screenshot needs a browser.">
        <FieldGroup label="Formats" className="grid grid-cols-2 gap-1">
          {formats.map(([value, label]) => (
            <label key={value} className="inline-flex min-h-6 items-center gap-2 text-sm">
              <input type="checkbox" checked={chosenFormats.includes(value)} onChange={() => toggle(value)} />
              {label}
            </label>
          ))}
        </FieldGroup>
      </Field>
      <Field name="onlyMainContent" label="Content">
        <Select {...field('content')}>
          <option value="main">Main content</option>
          <option value="all">Whole page</option>
        </Select>
      </Field>
      <Field name="render" label="Render in a browser">
        <Select {...field('render')}>
          <option value="auto">When needed</option>
          <option value="always">Always</option>
          <option value="never">Never</option>
        </Select>
      </Field>
    </Trial>
  );
}
