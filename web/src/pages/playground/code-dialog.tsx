import { useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { serverUrl } from '../../api/server-path.ts';
import { Code } from '../../parts/code.tsx';
import { Segments } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Note } from '../../parts/error-note.tsx';
import { type ShownCall, type Snippet, snippetsOf } from './snippets.ts';

interface CodeDialogProps {
  open: boolean;
  onClose: () => void;
  caller: Caller;
  /** Throws what cannot be sent. */
  call: () => ShownCall;
}

/** The call that the page would make now, for a program. */
export function CodeDialog({ open, onClose, caller, call }: CodeDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Code for this call"
      description={`The call uses the key “${caller.key.name}” of ${caller.key.account}. Fill in its secret yourself.`}
      width="wide"
    >
      <Snippets caller={caller} call={call} />
    </Dialog>
  );
}

function Snippets({ caller, call }: Pick<CodeDialogProps, 'caller' | 'call'>) {
  const [language, setLanguage] = useState<Snippet['language']>('curl');
  let snippets: Snippet[];
  try {
    snippets = snippetsOf(call(), serverUrl, caller.key.name);
  } catch (error) {
    return <Note tone="warn">{(error as Error).message}</Note>;
  }
  const shown = snippets.find((snippet) => snippet.language === language)!;
  return (
    <div className="flex flex-col items-start gap-3 [&>div]:w-full">
      <Segments
        label="Language"
        value={language}
        options={snippets.map(({ language: value }) => ({ value, label: value }))}
        onValue={setLanguage}
      />
      <Code text={shown.text} label={language} />
    </div>
  );
}
