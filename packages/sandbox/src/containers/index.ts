export { ContainerBackend } from './container-backend.ts';
export type { ContainerDirectory } from './container-directory.ts';
export type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from './container-driver.ts';
export type { ContainerBackendOptions } from './container-options.ts';
export { reachSocket, SOCKET_NAME } from './container-socket.ts';
export { IMAGE_PROGRAM, imageContext } from './image/image-context.ts';
export { reachByRelay } from './relay/reach-by-relay.ts';
export type { ContainerServerConfig } from './server/main.ts';
export { SERVER_PROGRAM } from './server-program.ts';
