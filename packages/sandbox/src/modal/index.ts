export { connectModal } from './connect-modal.ts';
export { ModalBackend, type ModalBackendOptions } from './modal-backend.ts';
