# PostgreSQL 15 with gpucol, from the packages that `make deb` leaves in build/deb.
#
#	make deb
#	docker build -t gpucol .
#	docker run -e POSTGRES_PASSWORD=secret gpucol                 # CPU engine
#	docker run --gpus all -e POSTGRES_PASSWORD=secret gpucol      # with gpucol-gpud among the packages
FROM postgres:15-bookworm

COPY build/deb/*.deb /packages/

RUN rm -f /packages/*dbgsym* /packages/postgresql-1[!5]-* \
	&& apt-get update \
	&& apt-get install -y --no-install-recommends /packages/*.deb \
	&& rm -rf /packages /var/lib/apt/lists/* \
	&& echo "shared_preload_libraries = 'gpucol'" >> /usr/share/postgresql/postgresql.conf.sample \
	&& echo "CREATE EXTENSION gpucol;" > /docker-entrypoint-initdb.d/gpucol.sql
