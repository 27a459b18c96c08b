import { MessagesSquare } from 'lucide-react';
import { Empty } from '../../parts/empty.tsx';
import { keep, storedOr } from '../../parts/stored/use-stored.ts';

const name = 'playground.prompts';
const hintsMax = 6;
/** A longer one, such as a pasted document, is not worth a line here. */
const lengthMax = 2_000;

/** Keeps a message that was sent, for the next visits. */
export function keepPrompt(text: string): void {
  const prompt = text.trim();
  if (prompt === '' || prompt.length > lengthMax) return;
  const before = storedOr<string[]>(name, [], 'browser').filter((one) => one !== prompt);
  keep(name, [prompt, ...before].slice(0, hintsMax), 'browser');
}

/** Shown before the first message of a conversation: what to do, and the last messages to send again. */
export function StartHint({ onPrompt }: { onPrompt: (text: string) => void }) {
  const prompts = storedOr<string[]>(name, [], 'browser');
  return (
    <Empty icon={<MessagesSquare />} title="Write a message below">
      <p>Compare sends it to several models at once. Your messages go through /v1, as those of a program do.</p>
      {prompts.length > 0 && (
        <ul aria-label="Your last messages" className="mt-4 flex flex-col gap-1.5">
          {prompts.map((prompt) => (
            <li key={prompt}>
              <button
                type="button"
                onClick={() => onPrompt(prompt)}
                className="w-full truncate rounded-md border border-line bg-panel px-3 py-1.5 text-left text-ink text-sm hover:bg-hover"
              >
                {prompt}
              </button>
            </li>
          ))}
        </ul>
      )}
    </Empty>
  );
}
