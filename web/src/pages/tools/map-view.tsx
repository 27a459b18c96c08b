import type { Caller } from '../../api/caller.ts';
import { Input, Select } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { Section } from '../../parts/page.tsx';
import { Trial } from '../playground/trial.tsx';
import { useCall } from '../playground/use-call.ts';
import { Links } from './page-content.tsx';
import type { MapAnswer } from './tool-answers.ts';

/** The links of a site. */
export function MapView({ caller }: { caller: Caller }) {
  const [form, field] = useStoredFields('tools.map', { url: '', search: '', sitemap: 'include' });
  const { url, search, sitemap } = form;
  const call = useCall<MapAnswer>(caller, (response) => response.json());
  const { answer } = call;
  return (
    <Trial
      caller={caller}
      call={call}
      action="List the links"
      disabled={url.trim() === ''}
      onRun={() => call.run('/v1/tools/map', () => ({ url: url.trim(), sitemap, ...(search !== '' && { search }) }))}
      hint="The links of the site appear here."
      result={
        answer === null ? null : (
          <Section title={plural(answer.links.length, 'link')}>
            <div className="flex flex-col gap-3">
              {answer.warning !== undefined && <Note tone="warn">{answer.warning}</Note>}
              <Links urls={answer.links.map((link) => link.url)} />
            </div>
          </Section>
        )
      }
    >
      <Field name="url" label="Site URL">
        <Input data-search inputMode="url" placeholder="https://" {...field('url')} />
      </Field>
      <Field name="search" label="Search" hint="Links that match come first.">
        <Input {...field('search')} />
      </Field>
      <Field name="sitemap" label="Sitemaps">
        <Select {...field('sitemap')}>
          <option value="include">In addition to the first page</option>
          <option value="only">Only the sitemaps</option>
          <option value="skip">Ignore</option>
        </Select>
      </Field>
    </Trial>
  );
}
