import { MessageSquareText } from 'lucide-react';
import type { PromptReply } from '../../../../src/admin/entries/prompts.ts';
import { prompts } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { Begin } from '../../parts/begin.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { PromptForm } from './prompt-form.tsx';
import { answering, textsOf } from './versions.ts';

const columns: readonly Column<PromptReply>[] = [
  {
    head: 'Prompt',
    value: ({ name }) => name,
    cell: (prompt) => <NameCell name={prompt.name}>{textsOf(answering(prompt))[0]?.content ?? 'no version'}</NameCell>,
  },
  { head: 'In use', align: 'right', cell: (prompt) => answering(prompt)?.number ?? <None /> },
  { head: 'Source', from: 'sm', cell: (prompt) => <Source of={prompt} />, value: ({ source }) => source },
  { head: 'Versions', from: 'md', align: 'right', cell: ({ versions }) => <Count value={versions.length} /> },
  { head: 'Model', from: 'lg', cell: (prompt) => answering(prompt)?.model ?? <None /> },
  {
    head: 'Last change',
    from: 'md',
    align: 'right',
    cell: ({ updated_at }) => (updated_at === null ? <None /> : <Ago at={updated_at} />),
  },
];

const yaml = `prompts:
  reply:
    variables: { tone: string }
    model: smart
    messages:
      - role: system
        content: Reply in a {{tone}} tone.`;

const command = "culvert prompts add reply --system 'Reply in a {{tone}} tone.' --variables tone --model smart";

/** Texts with variables that requests name in the place of a model. */
export default function PromptsPage() {
  const pages = usePages<PromptReply>(prompts.path, {}, { everyMs: 10_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'models',
    label: 'Add prompt',
    title: 'Add a prompt',
    description: 'Requests name it as prompt/NAME. You change its text here, without a release of your application.',
    place: 'side',
    form: (done) => <PromptForm prompt={null} from={null} onDone={done} />,
  });
  return (
    <Page title="Prompts" actions={add}>
      <PagedTable
        label="Prompts"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/prompts/${encodeURIComponent(name)}`}
        empty={
          <Begin
            icon={<MessageSquareText />}
            title="There are no prompts yet."
            action={add}
            yaml={yaml}
            command={command}
          >
            A prompt is a text with variables. Requests send its name and the values.
          </Begin>
        }
      />
      {dialog}
    </Page>
  );
}
