import { ImagePlus, Send, X } from 'lucide-react';
import { type ComponentProps, type ReactNode, useRef, useState } from 'react';
import { Button, buttonClass, IconButton } from '../../parts/button.tsx';
import { StopButton } from '../../parts/stop-button.tsx';
import { toast } from '../../parts/toast.tsx';
import { commandKey } from '../../shell/shortcuts.tsx';
import type { Picture } from './conversation.ts';

interface ComposerProps {
  text: string;
  onText: (text: string) => void;
  pictures: readonly Picture[];
  onPictures: (pictures: readonly Picture[]) => void;
  running: boolean;
  disabled: boolean;
  onSend: () => void;
  onStop: () => void;
  /** Next to the buttons. */
  children?: ReactNode;
}

const picturesMax = 8;
const pictureBytesMax = 10_000_000;

/** The text input. Images are pasted, dropped or picked. */
export function Composer(props: ComposerProps) {
  const { text, onText, pictures, onPictures, running, disabled, onSend, onStop, children } = props;
  const file = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const empty = text.trim() === '' && pictures.length === 0;
  const add = async (files: Iterable<File>) => {
    const found = [...files].filter(({ type }) => type.startsWith('image/'));
    if (found.some(({ size }) => size > pictureBytesMax)) return toast('An image may have at most 10 MB.');
    const read = await Promise.all(found.map(pictureOf));
    onPictures([...pictures, ...read].slice(0, picturesMax));
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is one way of three; a button does the same.
    <div
      className={`@container rounded-lg border bg-panel ${over ? 'border-accent' : 'border-line-strong'} focus-within:border-accent`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void add(event.dataTransfer.files);
      }}
    >
      {pictures.length > 0 && (
        <ul className="flex flex-wrap gap-2 px-3 pt-3" aria-label="Images">
          {pictures.map(({ name, dataUrl }, at) => (
            <li key={dataUrl.slice(-64) + name} className="relative">
              <img src={dataUrl} alt={name} className="size-16 rounded-md border border-line object-cover" />
              <IconButton
                label={`Remove ${name}`}
                className="-top-2 -right-2 absolute size-5 rounded-full border border-line-strong bg-raised [&>svg]:size-3"
                onClick={() => onPictures(pictures.toSpliced(at, 1))}
              >
                <X />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <textarea
        aria-label="Message"
        data-search
        rows={2}
        value={text}
        placeholder="Write a message…"
        onChange={(event) => onText(event.target.value)}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          void add(event.clipboardData.files);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
          event.preventDefault();
          if (!running && !disabled && !empty) onSend();
        }}
        className="field-sizing-content block max-h-[40dvh] min-h-14 w-full resize-none bg-transparent px-3 pt-2.5 text-base outline-none"
      />
      <div className="flex items-center gap-1 px-2 pb-2">
        <input
          ref={file}
          type="file"
          accept="image/*"
          multiple
          hidden
          aria-label="Images to send"
          onChange={(event) => {
            void add(event.target.files ?? []);
            event.target.value = '';
          }}
        />
        <ComposerButton label="Add images" word="Images" icon={<ImagePlus />} onClick={() => file.current?.click()} />
        <div className="min-w-0 flex-1">{children}</div>
        <span className="mr-2 hidden text-faint text-xs @3xl:inline">
          {running ? 'Esc to stop' : `${commandKey} + Enter to send`}
        </span>
        {running ? (
          <StopButton onStop={onStop} />
        ) : (
          <Button
            look="main"
            icon={<Send className="size-3.5" aria-hidden />}
            disabled={disabled || empty}
            onClick={onSend}
          >
            Send
          </Button>
        )}
      </div>
    </div>
  );
}

interface ComposerButtonProps extends ComponentProps<'button'> {
  /** Read aloud, and its title; contains the shown word. */
  label: string;
  word: string;
  icon: ReactNode;
}

/** A button with its word, for which a narrow composer has no room. */
export function ComposerButton({ label, word, icon, className, ...rest }: ComposerButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={buttonClass('quiet', `px-2 [&>svg]:size-4 ${className ?? ''}`)}
      {...rest}
    >
      {icon}
      <span className="hidden @xl:inline">{word}</span>
    </button>
  );
}

function pictureOf(file: File): Promise<Picture> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name || 'picture', dataUrl: String(reader.result) });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
