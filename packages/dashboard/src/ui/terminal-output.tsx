/** What a command printed, with its colours. */
import { useMemo } from 'preact/hooks';
import { ansiPieces } from './ansi.ts';
import './terminal-output.css';

interface TerminalOutputProps {
  text: string;
  wrap?: boolean;
}

export function TerminalOutput({ text, wrap = true }: TerminalOutputProps) {
  const pieces = useMemo(() => ansiPieces(text), [text]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long output scrolls, also by the keyboard
    <pre class={`output ${wrap ? 'wrap' : ''}`} dir="ltr" tabIndex={0}>
      {pieces.map(({ text: piece, style }, index) =>
        style === '' ? (
          piece
        ) : (
          <span key={index} class={style}>
            {piece}
          </span>
        ),
      )}
    </pre>
  );
}
