import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import { prompts } from '../../api/entries.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Id } from '../../parts/code.tsx';
import { Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Count } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { Labels } from './labels.tsx';
import { PromptForm } from './prompt-form.tsx';
import { TryIt } from './try-it.tsx';
import { Comparison, VersionView } from './version-view.tsx';
import { answering } from './versions.ts';

/** One prompt: its labels, its versions, how two of them differ, and what one gives with values. */
export default function PromptPage() {
  return (
    <StoredPage
      entries={prompts}
      list={{ to: '/dashboard/prompts', label: 'Prompts' }}
      everyMs={10_000}
      kind="prompt"
      area="models"
      removal="Requests that name this prompt then get a 404. All of its versions and labels go with it."
      actions={(prompt) => <NewVersion prompt={prompt} />}
    >
      {(prompt) => <Prompt prompt={prompt} />}
    </StoredPage>
  );
}

/** Only what is stored here, and in use, changes here. */
function useMayChange({ source, version, shadowed }: PromptReply): boolean {
  return useMay('models', 'write') && source === 'kept' && version !== null && !shadowed;
}

function Prompt({ prompt }: { prompt: PromptReply }) {
  const [filters, setFilters] = useFilters<'version' | 'with'>();
  const mayChange = useMayChange(prompt);
  const { name, versions } = prompt;
  const version = versions.find(({ number }) => String(number) === filters.version) ?? answering(prompt);
  return (
    <>
      {prompt.source === 'file' && (
        <Note tone="plain">
          This prompt is in the configuration file. Change its text, versions and labels there. Here you can read it and
          try it.
        </Note>
      )}
      <div className="grid gap-4 lg:grid-cols-2">
        <Section title="Details">
          <Facts>
            <Fact name="Model name">
              <Id text={`prompt/${name}`} />
            </Fact>
            <EntryFacts of={prompt} />
            <Fact name="Versions">
              <Count value={versions.length} />
            </Fact>
          </Facts>
        </Section>
        <Labels prompt={prompt} mayChange={mayChange} />
      </div>
      {version !== undefined && (
        <>
          <Section
            title={`Version ${version.number}`}
            actions={
              <Select
                aria-label="Version"
                className="w-auto max-w-[60%]"
                value={version.number}
                onChange={({ target }) => setFilters({ version: target.value, with: '' })}
              >
                {versions.map(({ number, labels }) => (
                  <option key={number} value={number}>
                    {[`Version ${number}`, ...labels].join(' · ')}
                  </option>
                ))}
              </Select>
            }
          >
            <VersionView version={version} />
          </Section>
          <Comparison
            prompt={prompt}
            version={version}
            withNumber={filters.with === undefined ? null : Number(filters.with)}
            onWith={(number) => setFilters({ with: number })}
          />
          <TryIt key={version.number} name={name} version={version} />
        </>
      )}
    </>
  );
}

function NewVersion({ prompt }: { prompt: PromptReply }) {
  const [filters] = useFilters<'version'>();
  const [adding, setAdding] = useState(false);
  const mayChange = useMayChange(prompt);
  const { name, versions } = prompt;
  const from = versions.find(({ number }) => String(number) === filters.version) ?? versions[0] ?? null;
  return (
    <>
      {mayChange && (
        <Button look="main" icon={<Plus className="size-4" />} onClick={() => setAdding(true)}>
          New version
        </Button>
      )}
      <Dialog
        open={adding}
        onClose={() => setAdding(false)}
        place="side"
        title={`New version of ${name}`}
        description={from === null ? undefined : `It begins with version ${from.number}, which stays as it is.`}
      >
        <PromptForm prompt={prompt} from={from} onDone={() => setAdding(false)} />
      </Dialog>
    </>
  );
}
