export interface ResponseSettings {
  previous_response_id: string | null;
  conversation: string | null;
  instructions: string | null;
  metadata: Record<string, string>;
  truncation: 'auto' | 'disabled';
  background: boolean;
  store: boolean;
}
