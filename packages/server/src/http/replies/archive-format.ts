/** The format of an archive: which one a request asks for, and the content type of the response. */
import { TalariaError } from '@talaria/protocol';
import { ARCHIVE_FORMATS, type ArchiveFormat } from '@talaria/sandbox';

export const ARCHIVE_CONTENT_TYPES: Record<ArchiveFormat, string> = {
  'tar.gz': 'application/gzip',
  tgz: 'application/gzip',
  tar: 'application/x-tar',
  zip: 'application/zip',
};

export function parseArchiveFormat(value: string | undefined): ArchiveFormat {
  if (value === undefined) return 'tar.gz';
  const format = ARCHIVE_FORMATS.find((known) => known === value);
  if (format !== undefined) return format;
  const message = `'format' must be one of ${ARCHIVE_FORMATS.join(', ')}`;
  throw new TalariaError('invalid_request', { message, param: 'format' });
}
