/** Code with its colours, which are loaded when the first code is shown. Without them it is code all the same. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Copy } from './copy.tsx';
import './code.css';

/** Each coloured word is a node of the page. */
const HIGHLIGHT_MAX_CHARACTERS = 12_000;

interface CodeProps {
  text: string;
  /** A name as it stands behind a fence, or the ending of a file's name. */
  language: string;
  /** More will come; colours would flicker. */
  unfinished?: boolean;
}

export function CodeBlock({ text, language, unfinished = false }: CodeProps) {
  return (
    <figure class="code">
      <figcaption>
        <span class="muted">{language}</span>
        <Copy text={() => text} what="this code" />
      </figcaption>
      <Code text={text} language={unfinished ? '' : language} />
    </figure>
  );
}

export function Code({ text, language }: CodeProps) {
  const [nodes, setNodes] = useState<ComponentChildren>();
  useEffect(() => {
    let wanted = true;
    setNodes(undefined);
    if (language === '' || text.length > HIGHLIGHT_MAX_CHARACTERS) return;
    import('./highlight.tsx').then(
      ({ highlight }) => {
        if (wanted) setNodes(highlight(text, language));
      },
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [text, language]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines scroll, also by the keyboard
    <pre dir="ltr" tabIndex={0}>
      <code>{nodes ?? text}</code>
    </pre>
  );
}
